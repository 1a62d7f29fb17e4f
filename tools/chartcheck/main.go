// Command chartcheck checks the manifests that the Helm chart renders, and the Dockerfile, without a
// cluster and without a container engine. "make chart/check" runs it.
//
//	helm template RELEASE charts/slipbox | chartcheck manifests docs/watching.md
//	chartcheck dockerfile deploy/Dockerfile
//	chartcheck settings charts/slipbox/values.schema.json .
//	chartcheck values charts/slipbox/values.yaml charts/slipbox/README.md
//
// It is a module of its own, so that the Kubernetes types are not dependencies of the product. It
// prints a line per mistake, and exits with 1 when there is one.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

const usage = `usage: chartcheck manifests METRICS < MANIFESTS
       chartcheck dockerfile FILE
       chartcheck settings SCHEMA ROOT
       chartcheck values VALUES PAGE`

func main() {
	mistakes, err := run(os.Args[1:], os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chartcheck:", err)
		os.Exit(2)
	}
	for _, m := range mistakes {
		fmt.Println(m)
	}
	if len(mistakes) > 0 {
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader) ([]string, error) {
	switch {
	case len(args) == 2 && args[0] == "manifests":
		page, err := os.ReadFile(args[1])
		if err != nil {
			return nil, err
		}
		names := metricNames(string(page))
		if len(names) == 0 {
			return nil, fmt.Errorf("%s names no metric: the check looks for the wrong thing", args[1])
		}
		return checkManifests(stdin, names)
	case len(args) == 2 && args[0] == "dockerfile":
		raw, err := os.ReadFile(args[1])
		if err != nil {
			return nil, err
		}
		return checkDockerfile(bytes.NewReader(raw))
	case len(args) == 3 && args[0] == "settings":
		return checkSettings(args[1], args[2])
	case len(args) == 3 && args[0] == "values":
		return checkValues(args[1], args[2])
	default:
		return nil, fmt.Errorf("%s", usage)
	}
}
