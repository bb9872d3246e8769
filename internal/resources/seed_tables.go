package resources

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// presence is whether a value is there, null, or not known yet.
type presence int

const (
	given presence = iota
	absent
	unknown
)

// list is a list as Terraform knows it. Only a given one has elements.
type list[T any] struct {
	presence

	elements []T
}

// seedTable is one table of a seed, as it is configured. Only a given one has contents.
type seedTable struct {
	presence

	name types.String
	key  list[types.String]
	rows list[seedRow]
}

// seedRow is one row. Only a given one has cells.
type seedRow struct {
	presence

	cells map[string]types.String
}

// tablesReader reads tables in the encoding in which Terraform sends them.
type tablesReader struct{ *msgpack.Decoder }

// readTables returns what a sealed text holds.
func readTables(sealed types.String) (list[seedTable], error) {
	switch {
	case sealed.IsNull():
		return list[seedTable]{presence: absent}, nil
	case sealed.IsUnknown():
		return list[seedTable]{presence: unknown}, nil
	}
	reader := tablesReader{msgpack.NewDecoder(strings.NewReader(sealed.ValueString()))}
	tables, err := readList(reader, reader.table)
	if err != nil {
		return tables, tenant.Fail(tenant.CodeInternal, "reading the tables of a seed", err)
	}
	return tables, nil
}

// next passes over a value that is not given.
func (r tablesReader) next() (presence, error) {
	code, err := r.PeekCode()
	switch {
	case err != nil:
		return absent, err
	case code == msgpcode.Nil:
		return absent, r.DecodeNil()
	case msgpcode.IsExt(code):
		return unknown, r.Skip()
	}
	return given, nil
}

func readList[T any](r tablesReader, element func() (T, error)) (out list[T], err error) {
	if out.presence, err = r.next(); err != nil || out.presence != given {
		return out, err
	}
	size, err := r.DecodeArrayLen()
	for range size {
		read, err := element()
		if err != nil {
			return out, err
		}
		out.elements = append(out.elements, read)
	}
	return out, err
}

// each calls entry for each entry of a map.
func (r tablesReader) each(entry func(name string) error) (presence, error) {
	found, err := r.next()
	if err != nil || found != given {
		return found, err
	}
	size, err := r.DecodeMapLen()
	for range size {
		name, err := r.DecodeString()
		if err != nil {
			return found, err
		}
		if err := entry(name); err != nil {
			return found, err
		}
	}
	return found, err
}

func (r tablesReader) table() (out seedTable, err error) {
	out.presence, err = r.each(func(name string) (err error) {
		switch name {
		case "name":
			out.name, err = r.text()
		case "key":
			out.key, err = readList(r, r.text)
		case "rows":
			out.rows, err = readList(r, r.row)
		default:
			err = fmt.Errorf("a table has no %q", name)
		}
		return err
	})
	return out, err
}

func (r tablesReader) row() (out seedRow, err error) {
	out.cells = map[string]types.String{}
	out.presence, err = r.each(func(column string) (err error) {
		out.cells[column], err = r.text()
		return err
	})
	return out, err
}

func (r tablesReader) text() (types.String, error) {
	found, err := r.next()
	switch {
	case err != nil || found == absent:
		return types.StringNull(), err
	case found == unknown:
		return types.StringUnknown(), nil
	}
	text, err := r.DecodeString()
	return types.StringValue(text), err
}

// checkTables adds an error for each table and row that a seed can't have. What is unknown is checked when it is known.
func checkTables(tables list[seedTable], diags *diag.Diagnostics) {
	names := map[string]bool{}
	for i, table := range tables.elements {
		at := path.Root(tablesName).AtListIndex(i)
		name := table.name.ValueString()
		if err := table.check(); err != nil {
			refuse(diags, at, name, fmt.Errorf("table %d: %w", i+1, err))
			continue
		}
		if known(table.name) && names[name] {
			refuse(diags, at.AtName("name"), name, errors.New("the seed has this table twice"))
		}
		names[name] = names[name] || known(table.name)
		checkRows(at, table, diags)
	}
}

// check returns what the table lacks.
func (t seedTable) check() error {
	switch {
	case t.presence == absent:
		return errors.New("it is null")
	case t.presence == unknown:
		return nil
	case t.name.IsNull():
		return errors.New("it has no name")
	case t.key.presence == absent || t.key.presence == given && len(t.key.elements) == 0:
		return errors.New("it has no key: the columns that identify a row")
	case t.rows.presence == absent:
		return errors.New("its rows are null; a table without rows has the rows []")
	}
	for _, column := range t.key.elements {
		if column.IsNull() {
			return errors.New("a column of its key is null")
		}
	}
	return nil
}

func checkRows(at path.Path, table seedTable, diags *diag.Diagnostics) {
	if table.key.presence != given || !known(table.key.elements...) {
		return
	}
	name, seen := table.name.ValueString(), map[string]int{}
	for i, row := range table.rows.elements {
		if row.presence == unknown {
			continue
		}
		id, complete, err := keyOf(table.key.elements, row.cells)
		if first, twice := seen[id]; err == nil && complete && twice {
			err = fmt.Errorf("rows %d and %d have the same key %s", first+1, i+1, id)
		}
		if err != nil {
			refuse(diags, at.AtName("rows").AtListIndex(i), name, fmt.Errorf("row %d: %w", i+1, err))
		}
		if complete {
			seen[id] = i
		}
	}
}

// keyOf returns what identifies a row; complete is false while a part of it is unknown.
func keyOf(key []types.String, cells map[string]types.String) (id string, complete bool, err error) {
	complete = true
	parts := make([]string, 0, len(key))
	for _, column := range key {
		cell, ok := cells[column.ValueString()]
		if !ok || cell.IsNull() {
			return "", false, fmt.Errorf("it has no value in the key column %q", column.ValueString())
		}
		complete = complete && !cell.IsUnknown()
		parts = append(parts, column.ValueString()+"="+strconv.Quote(cell.ValueString()))
	}
	return strings.Join(parts, ","), complete, nil
}

func refuse(diags *diag.Diagnostics, at path.Path, table string, why error) {
	addAttributeError(diags, at, tenant.StepSeed,
		tenant.Fail(tenant.CodeSeedInvalid, fmt.Sprintf("checking the seed of table %q", table), why))
}
