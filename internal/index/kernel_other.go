//go:build !amd64

package index

func codeDots(q []int16, codes []byte, out []int32) { codeDotsGeneric(q, codes, out) }

func wholeDotsPart(q []int16, codes, low []byte) (dot, squares int64) {
	return wholeDotsGeneric(q, codes, low)
}
