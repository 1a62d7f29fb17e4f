package reference

import (
	"cmp"
	"math"
	"slices"
)

// BM25's constants, as published most often.
const (
	k1 = 1.2
	b  = 0.75
)

// posting is the frequency of a term in a document.
type posting struct {
	doc int
	tf  float64
}

// statistics are the counts that both scorers need.
type statistics struct {
	docs     int
	postings map[string][]posting
	lengths  []float64 // of documents, in terms
	average  float64
}

func count(docs [][]string) statistics {
	s := statistics{docs: len(docs), postings: map[string][]posting{}, lengths: make([]float64, len(docs))}
	for d, terms := range docs {
		s.lengths[d] = float64(len(terms))
		s.average += float64(len(terms)) / float64(len(docs))
		for _, t := range terms {
			p := s.postings[t]
			if n := len(p); n > 0 && p[n-1].doc == d {
				p[n-1].tf++
			} else {
				s.postings[t] = append(p, posting{d, 1})
			}
		}
	}
	return s
}

// A Scorer returns the score of each document for the terms of a query; 0 without a match.
type Scorer func(query []string) []float64

// BM25 scores documents with k1 = 1.2, b = 0.75 and idf = ln(1 + (N − n + 0.5)/(n + 0.5))
// (Robertson and Zaragoza, 2009). A repeated term of the query counts each time.
func BM25(docs [][]string) Scorer {
	s := count(docs)
	return func(query []string) []float64 {
		out := make([]float64, s.docs)
		for _, term := range query {
			ps := s.postings[term]
			n := float64(len(ps))
			idf := math.Log(1 + (float64(s.docs)-n+0.5)/(n+0.5))
			for _, p := range ps {
				out[p.doc] += idf * p.tf * (k1 + 1) / (p.tf + k1*(1-b+b*s.lengths[p.doc]/s.average))
			}
		}
		return out
	}
}

// TFIDF scores documents by the cosine of vectors of (1 + ln tf)·(ln((1 + N)/(1 + n)) + 1).
// It leaves out the query's length, which does not change the order.
func TFIDF(docs [][]string) Scorer {
	s := count(docs)
	weight := func(term string, tf float64) float64 {
		return (1 + math.Log(tf)) * (math.Log(float64(1+s.docs)/float64(1+len(s.postings[term]))) + 1)
	}
	norm := make([]float64, s.docs)
	for d, terms := range docs {
		order, tf := distinct(terms)
		// Sum in the order of the text, so that equal texts have exactly equal norms.
		for _, t := range order {
			norm[d] += math.Pow(weight(t, tf[t]), 2)
		}
	}
	return func(query []string) []float64 {
		out := make([]float64, s.docs)
		order, tf := distinct(query)
		for _, term := range order {
			for _, p := range s.postings[term] {
				out[p.doc] += weight(term, tf[term]) * weight(term, p.tf) / math.Sqrt(norm[p.doc])
			}
		}
		return out
	}
}

// distinct returns the terms by first occurrence, and their frequencies.
func distinct(terms []string) (order []string, tf map[string]float64) {
	tf = map[string]float64{}
	for _, t := range terms {
		if tf[t] == 0 {
			order = append(order, t)
		}
		tf[t]++
	}
	return order, tf
}

// Windows returns for each turn the terms of the turns at most w away in the same session, in order.
// A session is a run of equal values.
func Windows(turns [][]string, sessions []string, w int) [][]string {
	out := make([][]string, len(turns))
	for i := range turns {
		for j := max(0, i-w); j <= min(len(turns)-1, i+w); j++ {
			if sessions[j] == sessions[i] {
				out[i] = append(out[i], turns[j]...)
			}
		}
	}
	return out
}

// The weights of Blend. They are a first guess and not tuned.
const (
	blendTurn    = 1.0
	blendWindow1 = 0.5
	blendWindow2 = 0.3
	blendSession = 0.3
)

// Blend adds the BM25 scores of turns, windows 1 and 2, and whole sessions. Each list is divided by
// its maximum first. The score of a session counts for each of its turns.
func Blend(turns [][]string, sessions []string) Scorer {
	of := map[string]int{}
	var whole [][]string
	for i, s := range sessions {
		if _, ok := of[s]; !ok {
			of[s] = len(whole)
			whole = append(whole, nil)
		}
		whole[of[s]] = append(whole[of[s]], turns[i]...)
	}
	bySession := BM25(whole)
	parts := []struct {
		weight float64
		score  Scorer
	}{
		{blendTurn, BM25(turns)},
		{blendWindow1, BM25(Windows(turns, sessions, 1))},
		{blendWindow2, BM25(Windows(turns, sessions, 2))},
		{blendSession, func(query []string) []float64 {
			scores, out := bySession(query), make([]float64, len(turns))
			for i, s := range sessions {
				out[i] = scores[of[s]]
			}
			return out
		}},
	}
	return func(query []string) []float64 {
		out := make([]float64, len(turns))
		for _, p := range parts {
			scores := p.score(query)
			if len(scores) == 0 || slices.Max(scores) <= 0 {
				continue
			}
			best := slices.Max(scores)
			for i, s := range scores {
				out[i] += p.weight * s / best
			}
		}
		return out
	}
}

// Rank returns the indexes of all documents, best first. Equal ones stay in order.
func Rank(scores []float64) []int {
	out := make([]int, len(scores))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return out
}
