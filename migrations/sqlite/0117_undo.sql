-- +goose Up

-- What the latest change of a meeting or a series replaced, for as long as it can be undone.
CREATE TABLE past_changes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    meeting_id INTEGER  CONSTRAINT past_changes_meeting_unique UNIQUE REFERENCES meetings (id) ON DELETE CASCADE, -- or
    series_id  INTEGER  CONSTRAINT past_changes_series_unique UNIQUE REFERENCES series (id) ON DELETE CASCADE,
    user_id    INTEGER  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    changed_at DATETIME NOT NULL,
    undo_until DATETIME NOT NULL,
    content    TEXT     NOT NULL -- JSON
);
CREATE INDEX past_changes_until ON past_changes (undo_until);

-- A meeting whose cancellation or rejection was undone may be cancelled or rejected again.
DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action)
    WHERE action NOT IN ('changed', 'confirmed', 'checked_in', 'responded', 'cancelled', 'rejected');

-- Its reminders are open again.
-- +goose StatementBegin
CREATE TRIGGER meetings_reminders_reopen AFTER UPDATE ON meetings
WHEN OLD.status IN ('cancelled', 'rejected') AND NEW.status IN ('pending', 'confirmed', 'in_progress')
BEGIN
    UPDATE meeting_reminders SET handled_at = NULL
     WHERE meeting_id = NEW.id AND handled_at = OLD.updated_at AND due_at > OLD.updated_at;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER meetings_reminders_reopen;
-- history_once stays as it is: history cannot be deleted.
DROP TABLE past_changes;
