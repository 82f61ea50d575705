-- Returns the names of topics with jobs. It goes from name to name, whatever number of jobs is in between.
-- Parameters: $1 limit.
-- Index: the primary key.
SELECT topic FROM (
    WITH RECURSIVE names AS (
        SELECT (SELECT topic FROM delay_jobs ORDER BY topic LIMIT 1) AS topic
        UNION ALL
        SELECT (SELECT topic FROM delay_jobs WHERE topic > names.topic ORDER BY topic LIMIT 1) FROM names WHERE names.topic IS NOT NULL
    )
    SELECT topic FROM names LIMIT $1
) AS n WHERE topic IS NOT NULL
