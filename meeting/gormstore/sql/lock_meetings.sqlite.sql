-- Reads meetings by ID. There is nothing to lock: transactions that write run one after another.
-- Parameters: $1 meetings.
-- Result: id.
-- Index: the primary key.
SELECT id FROM meetings WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id
