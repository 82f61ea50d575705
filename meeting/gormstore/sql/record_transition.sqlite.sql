-- Records that meetings started or ended. On Postgres, start and end do this themselves.
-- Parameters: $1 meetings, $2 now, $3 action, $4 job, $5 changes of a meeting that never started, $6 of another.
-- Index: the primary key.
INSERT INTO history (meeting_id, at, action, actor_kind, actor_name, changes)
SELECT m.id, $2, $3, 'timer', $4, CASE WHEN m.started_at IS NULL THEN $5 ELSE $6 END
FROM meetings m WHERE m.id IN (SELECT value FROM json_each($1)) ORDER BY m.id
