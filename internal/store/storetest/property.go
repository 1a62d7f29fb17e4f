package storetest

import (
	"testing"
)

func property(*testing.T, Harness) {}
