package recall

// Books is the number of collections that the counter holds something of.
func (r *Service) Books() int {
	r.counter.mu.Lock()
	defer r.counter.mu.Unlock()
	return len(r.counter.books)
}
