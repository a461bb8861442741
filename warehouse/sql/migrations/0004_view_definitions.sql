-- What the views of a schema were made of: making them anew, comments and all, takes longer than a small load.
CREATE TABLE view_definitions (
    schema_name VARCHAR NOT NULL,
    digest      VARCHAR NOT NULL
);
COMMENT ON TABLE view_definitions IS 'Which definitions the views of each schema were made of: while these stay the same, so do the views.';
COMMENT ON COLUMN view_definitions.schema_name IS 'The schema: main, or a comparability family''s.';
COMMENT ON COLUMN view_definitions.digest IS 'SHA-256 of the statements that made them.';
