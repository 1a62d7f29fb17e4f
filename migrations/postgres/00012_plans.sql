-- compatible-from: 1
-- Each statement has one index that leads it to its rows, and none that looks as good to a planner that knows nothing of a
-- tenant yet. Such a planner expects one row wherever the tenant and the layer are given, and takes any index that begins with
-- them. So the primary key alone does.

-- +goose Up
-- The condition holds for all rows, and only the statement that reads the log has it.
CREATE INDEX notes_log ON notes (tenant, layer, from_rev, id) WHERE bytes >= 0;
-- Summaries, sessions, facts and the like are paged without reading messages. "bytes >= 0" holds for all rows: it keeps other
-- statements from this index.
CREATE INDEX notes_kind ON notes (tenant, layer, kind, id) WHERE bytes >= 0 AND kind NOT IN ('note', 'message');
DROP INDEX notes_began;
DROP INDEX notes_note;
DROP INDEX links_target;
CREATE INDEX links_target ON links (target, layer);
ALTER TABLE notes   SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE vectors SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE links   SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
ALTER TABLE jobs    SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);

-- +goose Down
ALTER TABLE jobs    RESET (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);
ALTER TABLE links   RESET (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);
ALTER TABLE vectors RESET (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);
ALTER TABLE notes   RESET (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);
DROP INDEX links_target;
CREATE INDEX links_target ON links (tenant, layer, target);
CREATE INDEX notes_note ON notes USING hash (id);
CREATE INDEX notes_began ON notes (tenant, layer, from_rev, id);
DROP INDEX notes_kind;
DROP INDEX notes_log;
