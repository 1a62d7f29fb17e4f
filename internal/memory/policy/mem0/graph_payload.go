package mem0

// EntitiesInput is the material of "entities" (Mem0g).
type EntitiesInput struct {
	Texts []string // facts
	User  string   // what "I", "me" and "my" stand for
}

// Entity is a thing that facts are about.
type Entity struct {
	Entity string `json:"entity"`
	Type   string `json:"entity_type"` // "person", "place", "organization", "event", "time", "thing", …
}

// EntitiesFound is the answer of "entities".
type EntitiesFound struct {
	Entities []Entity `json:"entities"`
}

// RelationsInput is the material of "relations" (Mem0g).
type RelationsInput struct {
	Texts    []string
	Entities []Entity // only among these
	User     string
}

// Triple is a relation between two entities.
type Triple struct {
	Source      string `json:"source"`
	Relation    string `json:"relationship"`
	Destination string `json:"destination"`
}

// RelationsFound is the answer of "relations".
type RelationsFound struct {
	Relations []Triple `json:"relations"`
}

// ConflictsInput is the material of "conflicts" (Mem0g).
type ConflictsInput struct {
	New      []Triple
	Existing []Triple
	Texts    []string // the facts that New comes from
}

// ConflictsFound is the answer of "conflicts": what of Existing is no longer true.
type ConflictsFound struct {
	Invalidate []Triple `json:"invalidate"`
}
