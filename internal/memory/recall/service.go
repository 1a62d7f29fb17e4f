package recall

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Deps are the parts that recall works with.
type Deps struct {
	Store     memory.Reader
	Embedders memory.Embedders
	Model     memory.Model // for rerank; nil: rerank is refused
	Clock     memory.Clock // default time.Now
	Log       *slog.Logger
}

// Config of recall.
type Config struct {
	IndexBytes      int64         // budget of all indexes; default 1 GiB
	MaxNotes        int           // of one layer; default 1,000,000
	Loads           int           // layers filled at once; default 2
	LoadTimeout     time.Duration // how long a read waits for a cold layer; default 20 s
	FlushEvery      time.Duration // of usage counts; default 1 s
	MinRevisionWait time.Duration // how long min_revision waits; default 2 s
	CoarseThreshold float64       // cosine at or below which a hit never reaches the reranking model; default 0.7
	RerankPool      int           // most candidates shown to the model; default 40
}

// Service answers reads.
type Service struct{}

var errUnfinished = fault.New(fault.Internal, "being written")

// New makes the service; Start begins the flushing of usage counts.
func New(deps Deps, cfg Config) (*Service, error) { return nil, errUnfinished }

// Start begins the background flush of usage counts.
func (r *Service) Start() {}

// Stop flushes what is counted and ends the background work.
func (r *Service) Stop(ctx context.Context) error { return errUnfinished }

// Open opens a view (notes:read). minRevision waits, bounded, until the head has it; 0 does not.
// Search, Get, List, History and Graph take the view, so that one request reads one revision.
func (r *Service) Open(ctx context.Context, s tenant.Scope, ref string, asOf *memory.Revision, minRevision memory.Revision) (memory.View, error) {
	return memory.View{}, errUnfinished
}

// Search answers one query over a view; a batch calls it once per query.
func (r *Service) Search(ctx context.Context, s tenant.Scope, v memory.View, q Query) (Result, error) {
	return Result{}, errUnfinished
}

// Get reads one note with links and usage. NotFound when it is not visible.
func (r *Service) Get(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID, embedding bool) (NoteView, error) {
	return NoteView{}, errUnfinished
}

// Views adds links and usage to notes that were read already, such as what a write answered.
func (r *Service) Views(ctx context.Context, s tenant.Scope, v memory.View, notes []memory.Note) ([]NoteView, error) {
	return nil, errUnfinished
}

// List pages through notes, oldest id first.
func (r *Service) List(ctx context.Context, s tenant.Scope, v memory.View, q ListQuery) (Page, error) {
	return Page{}, errUnfinished
}

// History pages through the versions of a note. before 0 starts at the view's revision.
func (r *Service) History(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID, before memory.Revision, limit int) (HistoryPage, error) {
	return HistoryPage{}, errUnfinished
}

// Graph reads the notes around a center, following links both ways.
func (r *Service) Graph(ctx context.Context, s tenant.Scope, v memory.View, q GraphQuery) (Graph, error) {
	return Graph{}, errUnfinished
}

// Related gives the raw text of the notes a query finds, each followed by up to k notes
// linked with it (the public find_related_memories_raw). It counts no access.
func (r *Service) Related(ctx context.Context, s tenant.Scope, v memory.View, query string, k int) (string, error) {
	return "", errUnfinished
}

// Nearest gives the k notes most similar to a vector by cosine, best first, without those
// excluded; of the kinds, all when none is given. It is an internal look-up and counts no access.
func (r *Service) Nearest(ctx context.Context, s tenant.Scope, v memory.View, vector []float32, k int, exclude []uuid.UUID, kinds ...memory.Kind) ([]memory.Neighbour, error) {
	return nil, errUnfinished
}

// IndexState tells whether the layers of a view are indexed in this process.
func (r *Service) IndexState(v memory.View) IndexState { return IndexState{} }

// Evict drops the indexes of a collection's own layer; they are filled again when read.
func (r *Service) Evict(collection uuid.UUID) {}

// Rebuild drops the indexes of every layer of the view and fills them anew from the log.
func (r *Service) Rebuild(ctx context.Context, s tenant.Scope, v memory.View) error {
	return errUnfinished
}
