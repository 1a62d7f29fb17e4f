package index

import "sync"

// BatchRows is how many rows are best added to a batch in one call: enough to be worth a goroutine.
const BatchRows = 64

// Batch is a part of a log that is analyzed while the rest of it is read. It is for one goroutine.
type Batch struct {
	dimensions int
	stretches  []*stretch
	wait       sync.WaitGroup
}

// stretch is what was added to a batch in one call.
type stretch struct {
	rows []analyzed
	err  error // of the first row that has one
}

// NewBatch returns an empty batch for the layer.
func (l *Layer) NewBatch() *Batch { return &Batch{dimensions: l.dimensions} }

// Add adds n rows in the order of the log. BatchRows of them are made and analyzed concurrently, so what rows reads must not change.
// Fewer are the last ones, for which the caller would wait.
func (b *Batch) Add(n int, rows func() []Row) {
	s := &stretch{}
	b.stretches = append(b.stretches, s)
	if n < BatchRows {
		s.analyze(rows(), b.dimensions)
		return
	}
	b.wait.Go(func() { s.analyze(rows(), b.dimensions) })
}

func (s *stretch) analyze(rows []Row, dimensions int) {
	s.rows = make([]analyzed, len(rows))
	for i := range rows {
		var err error
		if s.rows[i], err = analyze(&rows[i], dimensions); err != nil && s.err == nil {
			s.err = err
		}
	}
}

// Rows returns all rows. It waits until they are made.
func (b *Batch) Rows() (out []Row) {
	b.wait.Wait()
	for _, s := range b.stretches {
		for i := range s.rows {
			out = append(out, s.rows[i].Row)
		}
	}
	return out
}

// analyzed returns all rows, or the error of the first that has one. It waits until they are analyzed.
func (b *Batch) analyzed() (out []*analyzed, err error) {
	b.wait.Wait()
	for _, s := range b.stretches {
		if s.err != nil {
			return nil, s.err
		}
		for i := range s.rows {
			out = append(out, &s.rows[i])
		}
	}
	return out, nil
}
