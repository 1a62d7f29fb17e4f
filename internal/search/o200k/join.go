package o200k

// joiner joins the neighbors of a piece. Its memory is used again.
type joiner struct {
	next, prev []int32 // begin of the part behind and before the one that begins here; -1 for none, gone when joined
	pairs      heap
}

const gone = -2

// A pair is two neighbors that are a token together: its rank, begin and length, so that lesser ones come first.
type pair uint64

const (
	lengthBits = 8  // the longest token has 128 bytes
	beginBits  = 36 // a text of gigabytes
)

func (p pair) begin() int32  { return int32(p >> lengthBits & (1<<beginBits - 1)) } //nolint:gosec // a text has at most 2 GiB
func (p pair) length() int32 { return int32(p & (1<<lengthBits - 1)) }

// join returns the number of tokens of a piece, which is none itself. Of all neighbors that are a token together, those
// with the lowest rank are joined, the first of equals, until none are left.
func (j *joiner) join(r *ranks, piece string) int {
	n := int32(len(piece)) //nolint:gosec // a text has at most 2 GiB
	j.next, j.prev, j.pairs = j.next[:0], j.prev[:0], j.pairs[:0]
	for i := range n {
		j.next, j.prev = append(j.next, i+1), append(j.prev, i-1)
	}
	for i := range n - 1 {
		j.offer(r, piece, i)
	}
	parts := int(n)
	for len(j.pairs) > 0 {
		p := j.pairs.pop()
		begin := p.begin()
		end := begin + p.length()
		middle := j.next[begin]
		if middle == gone || middle == n || j.next[middle] != end {
			continue // one of the two was joined with another part
		}
		j.next[begin], j.next[middle] = end, gone
		if end < n {
			j.prev[end] = begin
		}
		parts--
		j.offer(r, piece, begin)
		if before := j.prev[begin]; before >= 0 {
			j.offer(r, piece, before)
		}
	}
	return parts
}

// offer adds the part that begins at i, and the one behind it, to the pairs, if they are a token together.
func (j *joiner) offer(r *ranks, piece string, i int32) {
	middle := j.next[i]
	if int(middle) == len(piece) {
		return
	}
	if rank, ok := r.of(piece[i:j.next[middle]]); ok {
		j.pairs.push(pair(uint64(rank)<<(beginBits+lengthBits) | uint64(i)<<lengthBits | uint64(j.next[middle]-i))) //nolint:gosec // not negative
	}
}

// heap has the least pair first. container/heap would allocate for each.
type heap []pair

func (h *heap) push(p pair) {
	all := append(*h, p)
	for i := len(all) - 1; i > 0; {
		up := (i - 1) / 2
		if all[up] <= all[i] {
			break
		}
		all[up], all[i] = all[i], all[up]
		i = up
	}
	*h = all
}

func (h *heap) pop() pair {
	all := *h
	least := all[0]
	all[0] = all[len(all)-1]
	all = all[:len(all)-1]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(all) && all[down+1] < all[down] {
			down++
		}
		if down >= len(all) || all[i] <= all[down] {
			break
		}
		all[i], all[down] = all[down], all[i]
		i = down
	}
	*h = all
	return least
}
