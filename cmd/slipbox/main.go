// Command slipbox is the command line for people: a client of a gateway.
package main

import (
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/cli"
)

func main() { command.Main(cli.New) }
