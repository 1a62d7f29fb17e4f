//go:build !race

package sqlite

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/storetest"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestMove(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		storetest.Move(t, seed+uint64(time.Now().Unix())<<8, openHarness, openHarness) //nolint:gocritic // each call opens another store
	}
}

func TestMoveRefused(t *testing.T) {
	t.Parallel()
	storetest.MoveRefused(t, openHarness, 1, openHarness(t))
}

// A change of the schema needs a change of what is moved.
func TestMoveKnowsTheSchema(t *testing.T) {
	t.Parallel()
	s := openTest(t, Config{})
	q := must.Get(s.read.take(t.Context()))(t)
	defer s.read.give(q)
	rows, err := q.conn.QueryContext(t.Context(), `SELECT t.name, c.name, c.type, c."notnull", c.pk FROM pragma_table_list t, pragma_table_info(t.name) c
 WHERE t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT IN ('goose_db_version', 'schema_compat') ORDER BY 1, c.cid`)
	must.Do(t, err)
	defer func() { _ = rows.Close() }()
	var have []string
	for rows.Next() {
		var table, column, kind string
		var notNull bool
		var pk int
		must.Do(t, rows.Scan(&table, &column, &kind, &notNull, &pk))
		have = append(have, strings.Join([]string{table, column, kind, strconv.FormatBool(notNull), strconv.FormatBool(pk > 0)}, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	types := map[store.Kind]string{
		store.KindID: "BLOB", store.KindText: "TEXT", store.KindInt: "INTEGER", store.KindReal: "REAL", store.KindBool: "INTEGER", store.KindTime: "INTEGER",
		store.KindEvent: "INTEGER", store.KindObject: "TEXT", store.KindJSON: "TEXT", store.KindTexts: "TEXT", store.KindBytes: "BLOB", store.KindHalf: "BLOB", store.KindCodes: "BLOB",
	}
	var want []string
	for _, table := range store.Tables() {
		for i, c := range table.Columns {
			want = append(want, strings.Join([]string{table.Name, c.Name, types[c.Kind], strconv.FormatBool(c.Kind != store.KindEvent), strconv.FormatBool(i < table.Key)}, " "))
		}
	}
	for _, l := range have {
		if !slices.Contains(want, l) {
			t.Errorf("the schema has %q; store.Tables does not", l)
		}
	}
	for _, l := range want {
		if !slices.Contains(have, l) {
			t.Errorf("store.Tables has %q; the schema does not", l)
		}
	}
	if schema, err := s.Schema(t.Context()); err != nil || schema.Known != store.MoveSchema {
		t.Errorf("%v (%v); store.MoveSchema is %d: bring it and store.Tables up to date", schema, err, store.MoveSchema)
	}
}
