-- compatible-from: 3

-- +goose Up
-- Links to a note are found by all of their key. By target and layer alone, a planner without statistics expected as few entries below
-- the tenant and the layer of the primary key, once the table was large, and read the links of the layer.
CREATE INDEX links_by_target ON links (target, layer, tenant);
DROP INDEX links_target;

-- +goose Down
CREATE INDEX links_target ON links (target, layer);
DROP INDEX links_by_target;
