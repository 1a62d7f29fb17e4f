package search

// How sessions count; docs/decisions/0138 has the figures.
const (
	sessionShare  = 1. / 6 // SessionShare of the learned weights
	sessionNotes  = 5      // how many notes speak for a session; of a shorter one, all
	leastSessions = 20     // of the candidates; ten hits are of most of fewer sessions, so these say little
)

const partSession = "session_best"

// sessions are the sessions of the candidates; the zero value has none.
type sessions struct {
	places map[int32]int // in best, by number
	best   []bestScores
}

// bestScores are the best scores of the candidates of a session, best first.
type bestScores struct {
	scores [sessionNotes]float64
	n      int
}

func (b *bestScores) add(score float64) {
	for at := range b.n {
		if score > b.scores[at] {
			score, b.scores[at] = b.scores[at], score
		}
	}
	if b.n < sessionNotes {
		b.scores[b.n], b.n = score, b.n+1
	}
}

// newSessions returns the sessions of the candidates; none if they are few.
func newSessions(found []Candidate, scores []float64) sessions {
	s := sessions{places: make(map[int32]int, len(found)/4), best: make([]bestScores, 0, len(found)/4)}
	for i := range found {
		if found[i].Session == 0 {
			continue
		}
		at, known := s.places[found[i].Session]
		if !known {
			at = len(s.best)
			s.places[found[i].Session] = at
			s.best = append(s.best, bestScores{})
		}
		s.best[at].add(scores[i])
	}
	if len(s.best) < leastSessions {
		return sessions{}
	}
	return s
}

// withSession moves the score of a note towards the mean of the best ones of its session, and explains that unless parts is nil. It
// does not move one whose session has no candidate.
func (r *Ranker) withSession(score float64, c *Candidate, s *sessions, parts *[]Part) float64 {
	at, ok := s.places[c.Session]
	if !ok {
		return score
	}
	mean, share := 0.0, r.config.SessionShare
	for _, x := range s.best[at].scores[:s.best[at].n] {
		mean += x / float64(s.best[at].n)
	}
	if parts != nil {
		for i := range *parts {
			(*parts)[i].Weight *= 1 - share
		}
		*parts = append(*parts, Part{partSession, mean, mean, share})
	}
	return score + share*(mean-score)
}
