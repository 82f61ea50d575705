-- +goose Up

-- The use of rooms for reports, added up by site, zone and day of the clocks there. A row holds at any
-- instant from valid_from until before valid_until, as long as no mark touches it.
CREATE TABLE report_days (
    starts_at   DATETIME NOT NULL,
    site_id     INTEGER  NOT NULL, -- 0: rooms without a site
    zone        TEXT     NOT NULL, -- IANA; with an asterisk before it: none is named, and this is the installation's
    ends_at     DATETIME NOT NULL,
    valid_from  DATETIME NOT NULL,
    valid_until DATETIME NOT NULL,
    hours       BLOB     NOT NULL, -- sums by hour
    rooms       BLOB     NOT NULL, -- sums by room
    PRIMARY KEY (starts_at, site_id, zone)
);

-- What has changed since days were added up. Marks are only added by the triggers below, in the
-- transaction of the change.
CREATE TABLE report_marks (
    id        INTEGER  PRIMARY KEY AUTOINCREMENT,
    room_id   INTEGER,  -- null: all rooms of the site
    site_id   INTEGER,  -- 0: rooms without a site
    starts_at DATETIME NOT NULL,
    ends_at   DATETIME NOT NULL
);
CREATE INDEX report_marks_room ON report_marks (room_id, starts_at);

-- The sites and zones of rooms, read from the index alone.
CREATE INDEX rooms_places ON rooms (site_id, timezone);

-- Starting and ending on time change no sum, unless somebody had to check in.
-- +goose StatementBegin
CREATE TRIGGER meetings_reported AFTER UPDATE OF starts_at, ends_at, status, visibility, approval_deadline, no_show_at, checked_in_at, ended_at ON meetings
WHEN NEW.starts_at <> OLD.starts_at OR NEW.ends_at <> OLD.ends_at OR NEW.visibility <> OLD.visibility
    OR NEW.approval_deadline IS NOT OLD.approval_deadline
    OR NEW.no_show_at IS NOT OLD.no_show_at OR NEW.checked_in_at IS NOT OLD.checked_in_at
    OR min(COALESCE(NEW.ended_at, NEW.ends_at), NEW.ends_at) <> min(COALESCE(OLD.ended_at, OLD.ends_at), OLD.ends_at)
    OR NEW.status <> OLD.status AND (NEW.no_show_at IS NOT NULL
        OR NEW.status NOT IN ('confirmed', 'in_progress', 'ended') OR OLD.status NOT IN ('confirmed', 'in_progress', 'ended'))
BEGIN
    INSERT INTO report_marks (room_id, starts_at, ends_at)
    SELECT mr.room_id, span.starts_at, span.ends_at
    FROM meeting_rooms mr, (SELECT OLD.starts_at AS starts_at, OLD.ends_at AS ends_at UNION SELECT NEW.starts_at, NEW.ends_at) AS span
    WHERE mr.meeting_id = OLD.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER meetings_removed_from_reports BEFORE DELETE ON meetings
BEGIN
    INSERT INTO report_marks (room_id, starts_at, ends_at)
    SELECT mr.room_id, OLD.starts_at, OLD.ends_at FROM meeting_rooms mr WHERE mr.meeting_id = OLD.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER meeting_rooms_reported AFTER INSERT ON meeting_rooms
BEGIN
    INSERT INTO report_marks (room_id, starts_at, ends_at) SELECT NEW.room_id, m.starts_at, m.ends_at FROM meetings m WHERE m.id = NEW.meeting_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER meeting_rooms_removed_from_reports AFTER DELETE ON meeting_rooms
BEGIN
    INSERT INTO report_marks (room_id, starts_at, ends_at) SELECT OLD.room_id, m.starts_at, m.ends_at FROM meetings m WHERE m.id = OLD.meeting_id;
END;
-- +goose StatementEnd

-- One mark is enough for all attendees of a meeting.
-- +goose StatementBegin
CREATE TRIGGER attendees_reported AFTER INSERT ON attendees
BEGIN
    INSERT INTO report_marks (room_id, starts_at, ends_at)
    SELECT mr.room_id, m.starts_at, m.ends_at FROM meetings m JOIN meeting_rooms mr ON mr.meeting_id = m.id
    WHERE m.id = NEW.meeting_id
        AND NOT EXISTS (SELECT 1 FROM report_marks k WHERE k.room_id = mr.room_id AND k.starts_at = m.starts_at AND k.ends_at = m.ends_at);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER attendees_removed_from_reports AFTER DELETE ON attendees
BEGIN
    INSERT INTO report_marks (room_id, starts_at, ends_at)
    SELECT mr.room_id, m.starts_at, m.ends_at FROM meetings m JOIN meeting_rooms mr ON mr.meeting_id = m.id
    WHERE m.id = OLD.meeting_id
        AND NOT EXISTS (SELECT 1 FROM report_marks k WHERE k.room_id = mr.room_id AND k.starts_at = m.starts_at AND k.ends_at = m.ends_at);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER rooms_reported AFTER UPDATE OF site_id, timezone, capacity ON rooms
WHEN NEW.site_id IS NOT OLD.site_id OR NEW.timezone <> OLD.timezone OR NEW.capacity <> OLD.capacity
BEGIN
    INSERT INTO report_marks (site_id, starts_at, ends_at)
    SELECT COALESCE(OLD.site_id, 0), -2208988800000000, 16725225600000000 UNION SELECT COALESCE(NEW.site_id, 0), -2208988800000000, 16725225600000000;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER sites_reported AFTER UPDATE OF timezone ON sites WHEN NEW.timezone <> OLD.timezone
BEGIN
    INSERT INTO report_marks (site_id, starts_at, ends_at) VALUES (NEW.id, -2208988800000000, 16725225600000000);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER sites_reported;
DROP TRIGGER rooms_reported;
DROP TRIGGER attendees_removed_from_reports;
DROP TRIGGER attendees_reported;
DROP TRIGGER meeting_rooms_removed_from_reports;
DROP TRIGGER meeting_rooms_reported;
DROP TRIGGER meetings_removed_from_reports;
DROP TRIGGER meetings_reported;
DROP INDEX rooms_places;
DROP TABLE report_marks;
DROP TABLE report_days;
