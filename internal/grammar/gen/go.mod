module github.com/slipboxhq/slipbox/internal/grammar/gen

go 1.26.0
