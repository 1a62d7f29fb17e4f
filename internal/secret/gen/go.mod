module github.com/slipboxhq/slipbox/internal/secret/gen

go 1.26.0

require github.com/BurntSushi/toml v1.5.0
