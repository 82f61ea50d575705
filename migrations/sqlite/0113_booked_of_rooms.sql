-- +goose Up

-- SQLite reads it from the table, which is in that order.
SELECT 1;

-- +goose Down
SELECT 1;
