-- +goose Up

-- What happened to meetings is not rewritten either. What is older than a month may go, with its meeting.
-- +goose StatementBegin
CREATE FUNCTION history_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at <= now() - interval '30 days' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'history_append_only';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER history_is_kept BEFORE UPDATE OR DELETE ON history FOR EACH ROW EXECUTE FUNCTION history_append_only();
CREATE TRIGGER history_is_not_emptied BEFORE TRUNCATE ON history FOR EACH STATEMENT EXECUTE FUNCTION history_append_only();

-- +goose Down

DROP TRIGGER history_is_not_emptied ON history;
DROP TRIGGER history_is_kept ON history;
DROP FUNCTION history_append_only();
