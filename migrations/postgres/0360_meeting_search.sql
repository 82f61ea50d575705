-- +goose Up

-- What searches compare: without accents, in lower case, and each East Asian character three times, so
-- that an index of three characters finds words of one or two. Package app/database/fold does the same.
CREATE FUNCTION search_fold(x text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN octet_length(x) = char_length(x) THEN lower(x)
        ELSE regexp_replace(regexp_replace(lower(normalize(x, NFKD)), '[\u0300-\u036f]', '', 'g'), '([\u2e80-\U0010ffff])', '\1\1\1', 'g') END
$$;

-- All that a search of meetings can match. Quotes and backslashes of JSON are left out.
CREATE FUNCTION search_text(title text, description text, fields jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT search_fold(title || E'\n' || description || E'\n' || COALESCE(translate(jsonb_path_query_array(fields, '$[*].value')::text, '"\', ''), ''))
$$;

-- Without the extension, searches compare meetings by their start, a part at a time.
-- +goose StatementBegin
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
    RAISE WARNING 'searches of meetings have no index: %', SQLERRM;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE INDEX meetings_search ON meetings USING gin (search_text(title, description, fields) gin_trgm_ops);
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down

DROP INDEX IF EXISTS meetings_search;
DROP FUNCTION search_text(text, text, jsonb);
DROP FUNCTION search_fold(text);
