package postgres

import (
	"reflect"
	"testing"

	"ramet/internal/store"
)

func TestStatementsJoinIntoOne(t *testing.T) {
	got := joinStatements([]store.Statement{
		{Query: `INSERT INTO a VALUES ($1, $2), ($3, $4)`, Args: []any{1, 2, 3, 4}},
		{Query: `DELETE FROM b`},
		{Query: `UPDATE c SET x = $2 || '!' WHERE y = $1`, Args: []any{"y", "x"}},
	})
	want := store.Statement{
		Query: `WITH s0 AS (INSERT INTO a VALUES ($1, $2), ($3, $4)), s1 AS (DELETE FROM b) UPDATE c SET x = $6 || '!' WHERE y = $5`,
		Args:  []any{1, 2, 3, 4, "y", "x"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
}
