package mem0

// EntitiesInput is the input of "entities".
type EntitiesInput struct {
	Texts []string // facts
	User  string   // name of whom "I", "me" and "my" mean
}

// Entity is a person or thing that facts are about.
type Entity struct {
	Entity string `json:"entity"`
	Type   string `json:"entity_type"` // "person", "place", "organization", "event", "time", "thing", …
}

// EntitiesFound is the answer of "entities".
type EntitiesFound struct {
	Entities []Entity `json:"entities"`
}

// RelationsInput is the input of "relations".
type RelationsInput struct {
	Texts    []string
	Entities []Entity // relations are wanted among these only
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

// ConflictsInput is the input of "conflicts".
type ConflictsInput struct {
	New      []Triple
	Existing []Triple
	Texts    []string // the facts that New comes from
}

// ConflictsFound is the answer of "conflicts": those of Existing that are no longer true.
type ConflictsFound struct {
	Invalidate []Triple `json:"invalidate"`
}
