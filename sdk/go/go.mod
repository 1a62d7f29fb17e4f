module github.com/slipboxhq/slipbox/sdk/go

go 1.26.0

require github.com/oapi-codegen/nullable v1.2.0
