package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
)

var _ store.Mover = (*Store)(nil)

// Export implements store.Mover: one read transaction, during which others write and the WAL grows.
func (s *Store) Export(ctx context.Context, fn func(store.Row) error) error {
	return s.snapshot(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		for _, t := range store.Tables() {
			kept := make([]any, len(t.Columns))
			dest := make([]any, len(t.Columns))
			for i := range kept {
				dest[i] = &kept[i]
			}
			names := t.Names()
			text := "SELECT " + strings.Join(names, ", ") + " FROM " + t.Name + " ORDER BY " + strings.Join(names[:t.Key], ", ")
			err := q.each(ctx, text, nil, func(rows *sql.Rows) error {
				if err := rows.Scan(dest...); err != nil {
					return err
				}
				r := store.Row{Table: t, Values: make([]any, len(kept))}
				for i := range kept {
					v, err := toRowValue(&t.Columns[i], kept[i])
					if err != nil {
						return fmt.Errorf("%s of a row of %s: %w", t.Columns[i].Name, t.Name, err)
					}
					r.Values[i] = v
				}
				return fn(r)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// toRowValue converts a value of SQLite to one of store.Row.
func toRowValue(c *store.Column, v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil //nolint:nilnil // none
	case int64:
		switch c.Kind {
		case store.KindInt:
			return v, nil
		case store.KindBool:
			return v != 0, nil
		case store.KindEvent:
			return time.UnixMicro(v).UTC(), nil
		case store.KindTime:
			if v == 0 && c.Optional {
				return nil, nil //nolint:nilnil // none
			}
			return time.UnixMicro(v).UTC(), nil
		default:
		}
	case float64:
		if c.Kind == store.KindReal {
			return v, nil
		}
	case string:
		return movedText(c, v)
	case []byte:
		switch c.Kind {
		case store.KindBytes, store.KindCodes:
			return v, nil
		case store.KindHalf:
			return store.Halves(store.VectorOf(v)), nil
		case store.KindID:
			return uuid.FromBytes(v)
		default:
		}
	}
	return nil, fmt.Errorf("a %T is no value of the kind %s", v, c.Kind)
}

func movedText(c *store.Column, v string) (any, error) {
	switch c.Kind {
	case store.KindText:
		return v, nil
	case store.KindJSON:
		if v == "" && c.Optional {
			return nil, nil //nolint:nilnil // none
		}
		return v, nil
	case store.KindObject:
		return store.MoveObject(v, c)
	case store.KindTexts:
		l, err := listOf(v)
		if l == nil {
			l = []string{}
		}
		return l, err
	default:
		return nil, fmt.Errorf("a text is no value of the kind %s", c.Kind)
	}
}

// fromRowValue reverses moved.
func fromRowValue(c *store.Column, v any) (any, error) {
	switch v := v.(type) {
	case nil:
		switch c.Kind {
		case store.KindTime:
			return int64(0), nil
		case store.KindJSON, store.KindObject:
			return "", nil
		default:
			return nil, nil //nolint:nilnil // NULL
		}
	case uuid.UUID:
		return v, nil
	case time.Time:
		if us := v.UnixMicro(); us != 0 || c.Kind == store.KindEvent || !c.Optional {
			return us, nil
		}
		return int64(1), nil // 0 would mean none, such as a key that never expires
	case []string:
		return list(v)
	case []byte:
		switch {
		case v == nil:
			return []byte{}, nil
		case c.Kind == store.KindHalf:
			return store.PackVector(store.VectorOf(v)), nil
		}
	}
	return v, nil
}

// Import implements store.Mover.
func (s *Store) Import(ctx context.Context, next func() (store.Row, error)) error {
	return s.writing(ctx, ofCaller(uuid.Nil), func(bare context.Context, q *session) error {
		if err := q.checkUnused(bare); err != nil {
			return err
		}
		statements := map[string]string{}
		for _, t := range store.Tables() {
			statements[t.Name] = "INSERT INTO " + t.Name + " (" + strings.Join(t.Names(), ", ") + ") VALUES (?" + strings.Repeat(", ?", len(t.Columns)-1) + ")"
		}
		for {
			// Unlike other writes, this one is long.
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			args := make([]any, len(r.Values))
			for i, v := range r.Values {
				if args[i], err = fromRowValue(&r.Table.Columns[i], v); err != nil {
					return err
				}
			}
			if _, err := q.exec(bare, statements[r.Table.Name], args...); err != nil {
				return store.RefusedRow(s.translate(err), r)
			}
		}
	})
}

// checkUnused returns a Conflict for a store that is in use.
func (q *session) checkUnused(ctx context.Context) error {
	for _, t := range store.Tables() {
		if t.Name == "signing_keys" {
			continue
		}
		var one int
		found, err := q.get(ctx, "SELECT 1 FROM "+t.Name+" LIMIT 1", nil, &one)
		if err != nil {
			return err
		}
		if found {
			return fault.New(fault.Conflict, "the store is not empty: the table %s has rows; import into an empty one", t.Name)
		}
	}
	return nil
}
