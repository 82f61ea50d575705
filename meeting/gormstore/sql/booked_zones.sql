-- Returns the zones of meetings and series that are not over.
-- Parameters: $1 now.
-- Result: timezone.
-- Index: meetings by end, meetings by series.
SELECT timezone FROM meetings WHERE ends_at > $1 AND status IN ('pending', 'confirmed', 'in_progress')
UNION SELECT s.timezone FROM series s WHERE s.cancelled_at IS NULL AND EXISTS (SELECT 1 FROM meetings m
    WHERE m.series_id = s.id AND m.starts_at > $1 AND m.status IN ('pending', 'confirmed'))
ORDER BY 1
