package memory

// ReembedJob is the payload of a job of kind reembed.
type ReembedJob struct {
	Embedder string `json:"embedder"` // to switch to; the collection's own: only vectors that are missing are made
}
