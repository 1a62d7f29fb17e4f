//go:build !amd64

package index

func codeDots(q []int16, codes []byte, out []int32) { codeDotsGeneric(q, codes, out) }

func halfDot(a, b []uint16) float32 { return halfDotGeneric(a, b) }
