package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tenantry/terraform-provider-tenant/internal/sqlitefile"
	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// seeding is one Apply within its transaction.
type seeding struct {
	tx    *sql.Tx
	spec  tenant.SeedSpec
	doing string

	rows       []*remembered          // as stored, before and after
	wanted     map[*remembered]bool   // those that the seed still has
	fresh      map[*remembered]bool   // those whose values are the seed's at the end of this Apply
	stored     map[*remembered]string // what of them is stored, to tell what has to be stored again
	tables     map[string]*table      // of the seed
	edited     []tenant.RowEdit       // and kept so
	kept       map[*remembered]tenant.RowEdit
	statements map[string]*sql.Stmt // they end with the transaction
	changing   bool                 // a row was written or removed
}

// exec runs a statement that changes rows.
func (s *seeding) exec(ctx context.Context, query string, args ...any) error {
	s.changing = true
	statement := s.statements[query]
	if statement == nil {
		var err error
		if statement, err = s.tx.PrepareContext(ctx, query); err != nil {
			return err
		}
		s.statements[query] = statement
	}
	_, err := statement.ExecContext(ctx, args...)
	return err
}

// run is the order of work.
func (s *seeding) run(ctx context.Context, isNew bool, mark string) (tenant.Seed, error) {
	s.wanted, s.fresh, s.stored = map[*remembered]bool{}, map[*remembered]bool{}, map[*remembered]string{}
	s.statements = map[string]*sql.Stmt{}
	if err := s.prepare(ctx, isNew, mark); err != nil {
		return tenant.Seed{}, s.failed("preparing", err)
	}
	if err := s.checkColumns(); err != nil {
		return tenant.Seed{}, err
	}
	gone, err := s.missing(ctx)
	if err != nil {
		return tenant.Seed{}, s.failed("comparing", err)
	}
	// A row that goes may hold a unique value that a new one takes, or be referred to by one that changes: so the removal is
	// tried before the writing and after it.
	if gone, err = s.remove(ctx, gone); err != nil {
		return tenant.Seed{}, s.failed("removing rows", err)
	}
	for _, table := range s.spec.Tables {
		if err := s.write(ctx, table); err != nil {
			return tenant.Seed{}, err
		}
	}
	if s.spec.OnEdit == tenant.RefuseEdits && len(s.edited) > 0 {
		return tenant.Seed{}, refused(s.doing, s.edited)
	}
	gone = slices.DeleteFunc(gone, func(row *remembered) bool { return s.wanted[row] })
	if gone, err = s.remove(ctx, gone); err != nil {
		return tenant.Seed{}, s.failed("removing rows", err)
	}
	if err := s.remember(ctx, gone); err != nil {
		return tenant.Seed{}, s.failed("remembering", err)
	}
	out := tenant.Seed{Edited: s.edited}
	for _, row := range gone {
		out.Kept = append(out.Kept, s.kept[row])
	}
	return sorted(out), nil
}

func refused(doing string, edits []tenant.RowEdit) error {
	names := make([]string, 0, len(edits))
	for _, edit := range edits {
		names = append(names, edit.String())
	}
	slices.Sort(names)
	return tenant.Fail(
		tenant.CodeSeedEdited,
		doing,
		errors.New("edited since they were seeded: "+strings.Join(names, "; ")),
	)
}

// failed classifies what went wrong with the database as a whole or with the rows named by what.
func (s *seeding) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	classified := sqlitefile.Classify(s.doing+": "+what, err)
	if tenant.HasCode(classified, tenant.CodeConflict) || tenant.HasCode(classified, tenant.CodeInternal) {
		return &tenant.Failure{Code: tenant.CodeSeedFailed, Doing: s.doing + ": " + what, Err: err}
	}
	return classified
}

func (s *seeding) prepare(ctx context.Context, isNew bool, mark string) error {
	if isNew {
		if _, err := s.tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		if _, err := s.tx.ExecContext(ctx, `DELETE FROM tenantry_seed_rows`); err != nil {
			return err
		}
		if _, err := s.tx.ExecContext(
			ctx,
			`INSERT OR REPLACE INTO tenantry_seed (id, mark) VALUES (1, $1)`,
			mark,
		); err != nil {
			return err
		}
	}
	rows, err := recall(ctx, s.tx)
	if err != nil {
		return err
	}
	s.rows = rows
	for _, row := range rows {
		s.stored[row] = row.encoded()
	}
	names := make([]string, 0, len(s.spec.Tables))
	for _, table := range s.spec.Tables {
		names = append(names, table.Name)
	}
	s.tables, err = describe(ctx, s.tx, names)
	return err
}

func (r *remembered) encoded() string {
	return encode([]any{r.table, r.keyColumns, r.key, r.spec, r.written, r.dropped})
}

func (s *seeding) checkColumns() error {
	for _, table := range s.spec.Tables {
		described := s.tables[table.Name]
		if described == nil {
			return invalid(table.Name, errors.New("there is no such table"))
		}
		names := map[string]bool{}
		for _, row := range table.Rows {
			for name := range row {
				names[name] = true
			}
		}
		for _, name := range table.Key {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := described.checkColumn(name, slices.Contains(table.Key, name)); err != nil {
				return invalid(table.Name, err)
			}
		}
	}
	return nil
}

func (t *table) checkColumn(name string, inKey bool) error {
	described, there := t.columns[name]
	switch {
	case !there:
		return fmt.Errorf("the table has no column %q (it has %s)", name,
			strings.Join(slices.Sorted(maps.Keys(t.columns)), ", "))
	case described.generated:
		return fmt.Errorf("the column %q is generated and can't be written", name)
	case inKey && strings.EqualFold(described.declared, "BLOB"):
		return fmt.Errorf("the column %q holds bytes and can't be part of a key", name)
	}
	return nil
}

// missing returns the remembered rows that the seed no longer has, the last written first. A row whose key the seed now
// writes in another way ("1" for "01", or by other columns) is not missing.
func (s *seeding) missing(ctx context.Context) ([]*remembered, error) {
	keys := map[string]bool{}
	for _, table := range s.spec.Tables {
		keysOf(table, keys)
	}
	var gone []*remembered
	for _, row := range slices.Backward(s.rows) {
		if !keys[row.name()] {
			gone = append(gone, row)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	seen, err := states(ctx, s.tx, gone)
	if err != nil {
		return nil, err
	}
	taken, err := s.identities(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(gone, func(row *remembered) bool {
		return len(seen[row]) == 1 && taken[row.table+"\x00"+seen[row][0].identity]
	}), nil
}

// identities returns the existing rows that the seed has.
func (s *seeding) identities(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for _, table := range s.spec.Tables {
		seen, err := s.look(ctx, table, nil)
		if err != nil {
			return nil, err
		}
		for _, rows := range seen {
			for _, row := range rows {
				out[table.Name+"\x00"+row.identity] = true
			}
		}
	}
	return out, nil
}

func (s *seeding) look(ctx context.Context, table tenant.SeedTable, columns []string) ([][]found, error) {
	keys := make([][]string, 0, len(table.Rows))
	for _, row := range table.Rows {
		keys = append(keys, keyOf(table.Key, row))
	}
	return keyed{s.tables[table.Name], table.Key}.look(ctx, s.tx, keys, columns)
}

// write brings the rows of one table to what the seed says.
func (s *seeding) write(ctx context.Context, table tenant.SeedTable) error {
	var known []*remembered
	byKey := map[string]*remembered{}
	for _, row := range s.rows {
		if row.table == table.Name {
			known = append(known, row)
			byKey[encode([]any{row.keyColumns, row.key})] = row
		}
	}
	targets, err := s.targets(ctx, table, s.columns(table, known))
	if err != nil {
		return err
	}
	rekeyed, err := s.rekeyed(ctx, table, known)
	if err != nil {
		return s.failed("comparing table "+table.Name, err)
	}
	for _, to := range targets {
		old := byKey[encode([]any{table.Key, to.key})]
		if to.now != nil && rekeyed[to.now.identity] != nil {
			old = rekeyed[to.now.identity]
		}
		if err := s.writeRow(ctx, to, old); err != nil {
			return s.failed("writing "+table.Name+"["+showKey(table.Key, to.key)+"]", err)
		}
	}
	return nil
}

// rekeyed returns the rows that are remembered by a key which the seed writes in another way now, by their identity.
func (s *seeding) rekeyed(
	ctx context.Context, table tenant.SeedTable, known []*remembered,
) (map[string]*remembered, error) {
	keys := keysOf(table, map[string]bool{})
	var rows []*remembered
	for _, row := range known {
		if !keys[row.name()] {
			rows = append(rows, row)
		}
	}
	out := map[string]*remembered{}
	if len(rows) == 0 {
		return out, nil
	}
	seen, err := states(ctx, s.tx, rows)
	for row, now := range seen {
		if len(now) == 1 {
			out[now[0].identity] = row
		}
	}
	return out, err
}

// name tells a row from all others of the seed.
func (r *remembered) name() string { return encode([]any{r.table, r.keyColumns, r.key}) }

// keysOf adds the names of the table's rows to keys.
func keysOf(table tenant.SeedTable, keys map[string]bool) map[string]bool {
	for _, row := range table.Rows {
		keys[encode([]any{table.Name, table.Key, keyOf(table.Key, row)})] = true
	}
	return keys
}

// columns returns the columns that the seed has or had.
func (s *seeding) columns(table tenant.SeedTable, known []*remembered) []string {
	columns := map[string]bool{}
	for _, row := range table.Rows {
		for name := range row {
			columns[name] = true
		}
	}
	for _, row := range known {
		for name := range row.written {
			if _, there := s.tables[table.Name].columns[name]; there {
				columns[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(columns))
}

// targets pairs the seed's rows with what there is of them; no two may be one row of the database.
func (s *seeding) targets(ctx context.Context, table tenant.SeedTable, columns []string) ([]target, error) {
	seen, err := s.look(ctx, table, columns)
	if err != nil {
		return nil, s.failed("comparing table "+table.Name, err)
	}
	taken := map[string]string{}
	out := make([]target, 0, len(table.Rows))
	for i, row := range table.Rows {
		to := target{keyed{s.tables[table.Name], table.Key}, row, keyOf(table.Key, row), nil}
		label := showKey(table.Key, to.key)
		if len(seen[i]) > 1 {
			return nil, invalid(table.Name, fmt.Errorf("the key %s is that of %d rows", label, len(seen[i])))
		}
		if len(seen[i]) == 1 {
			to.now = &seen[i][0]
			if before, twice := taken[to.now.identity]; twice {
				return nil, invalid(table.Name, fmt.Errorf("%s and %s are the same row", before, label))
			}
			taken[to.now.identity] = label
		}
		out = append(out, to)
	}
	return out, nil
}

// target is a row of the seed and what there is of it.
type target struct {
	keyed
	row tenant.Row
	key []string
	now *found
}

// writeRow decides what happens to one row; old is what is remembered of it, nil for one that is new to the seed.
func (s *seeding) writeRow(ctx context.Context, to target, old *remembered) error {
	if old == nil {
		old = &remembered{}
		s.rows = append(s.rows, old)
		if to.now == nil {
			return s.put(ctx, to, old)
		}
		return s.takeOver(ctx, to, old)
	}
	if to.now == nil {
		return s.edit(ctx, to, old, nil)
	}
	edited := slices.DeleteFunc(old.changed(*to.now), func(name string) bool {
		_, still := to.row[name]
		return !still
	})
	same := encode(old.spec) == encode(to.row)
	switch {
	case len(edited) == 0 && same:
		s.keep(to, old, old.written)
		s.fresh[old] = true
		return nil
	case len(edited) == 0:
		return s.put(ctx, to, old)
	case same:
		return s.edit(ctx, to, old, edited)
	}
	// The customer may have done just what the seed does now.
	written, err := s.probe(ctx, to)
	if err != nil {
		return err
	}
	if len((&remembered{written: written}).changed(*to.now)) == 0 {
		return s.put(ctx, to, old)
	}
	return s.edit(ctx, to, old, edited)
}

// takeOver makes a row that the seed did not write the seed's. Where its values differ, they are edits.
func (s *seeding) takeOver(ctx context.Context, to target, old *remembered) error {
	written, err := s.probe(ctx, to)
	if err != nil {
		return err
	}
	s.keep(to, old, written)
	if edited := old.changed(*to.now); len(edited) > 0 {
		return s.edit(ctx, to, old, edited)
	}
	s.fresh[old] = true
	return nil
}

// edit treats an edited row as the seed says; no columns means that the row was deleted.
func (s *seeding) edit(ctx context.Context, to target, old *remembered, columns []string) error {
	s.wanted[old], old.dropped = true, nil
	if s.spec.OnEdit == tenant.RestoreEdits {
		return s.put(ctx, to, old)
	}
	maps.DeleteFunc(old.written, func(name string, _ string) bool {
		_, still := to.row[name]
		return !still
	})
	s.edited = append(s.edited, old.edit(columns))
	return nil
}

// put writes the seed's values; what the database makes of them is read when everything is written.
func (s *seeding) put(ctx context.Context, to target, old *remembered) error {
	s.keep(to, old, nil)
	s.fresh[old] = true
	if to.now == nil {
		return s.insert(ctx, to)
	}
	return s.update(ctx, to)
}

func (s *seeding) keep(to target, old *remembered, written map[string]string) {
	old.table, old.keyColumns, old.key = to.table.name, to.keyed.key, to.key
	old.spec, old.written, old.dropped = to.row, written, nil
	s.wanted[old] = true
}

func (s *seeding) insert(ctx context.Context, to target) error {
	var names, places []string
	var values []any
	for _, name := range slices.Sorted(maps.Keys(to.row)) {
		names, values = append(
			names,
			quoted(name),
		), append(
			values,
			to.table.columns[name].value(to.row[name]),
		)
		places = append(places, fmt.Sprintf("$%d", len(values)))
	}
	return s.exec(ctx, "INSERT INTO "+quoted(to.table.name)+" ("+strings.Join(names, ", ")+
		") VALUES ("+strings.Join(places, ", ")+")", values...)
}

func (s *seeding) update(ctx context.Context, to target) error {
	var sets []string
	var values []any
	for _, name := range slices.Sorted(maps.Keys(to.row)) {
		if !slices.Contains(to.keyed.key, name) {
			values = append(values, to.table.columns[name].value(to.row[name]))
			sets = append(sets, fmt.Sprintf("%s = $%d", quoted(name), len(values)))
		}
	}
	if len(sets) == 0 {
		return nil
	}
	return s.exec(ctx, "UPDATE "+quoted(to.table.name)+" SET "+strings.Join(sets, ", ")+
		" WHERE "+to.where("", len(values)+1), append(values, to.args(to.key)...)...)
}

// probe returns what the database would make of the seed's values in an existing row, and leaves the row as it is.
func (s *seeding) probe(ctx context.Context, to target) (written map[string]string, err error) {
	err = s.tentatively(ctx, func() (bool, error) {
		if err := s.update(ctx, to); err != nil {
			return false, err
		}
		seen, err := to.look(ctx, s.tx, [][]string{to.key}, slices.Sorted(maps.Keys(to.row)))
		if err == nil && len(seen[0]) == 1 {
			written = seen[0][0].values
		}
		return false, err
	})
	if err == nil && written == nil {
		err = errors.New("the row is not there after it was written")
	}
	return written, err
}

// tentatively runs work in a savepoint and takes it back unless work says to keep it.
func (s *seeding) tentatively(ctx context.Context, work func() (keep bool, err error)) error {
	if _, err := s.tx.ExecContext(ctx, "SAVEPOINT tentative"); err != nil {
		return err
	}
	keep, err := work()
	end := "RELEASE tentative"
	if err != nil || !keep {
		end = "ROLLBACK TO tentative; RELEASE tentative"
	}
	_, ended := s.tx.ExecContext(ctx, end)
	return errors.Join(err, ended)
}

// remove deletes those of the rows that are unedited and that nobody refers to, as long as one goes; it returns those that
// stay.
func (s *seeding) remove(ctx context.Context, rows []*remembered) ([]*remembered, error) {
	for {
		s.kept = map[*remembered]tenant.RowEdit{}
		var stay []*remembered
		for _, row := range rows {
			gone, err := s.removeRow(ctx, row)
			if err != nil {
				return nil, err
			}
			if !gone {
				stay = append(stay, row)
			}
		}
		if len(stay) == 0 || len(stay) == len(rows) {
			return stay, nil
		}
		rows = stay
	}
}

func (s *seeding) removeRow(ctx context.Context, row *remembered) (gone bool, err error) {
	byTable, err := groups(ctx, s.tx, []*remembered{row})
	if err != nil {
		return false, err
	}
	if len(byTable) == 0 { // its table is gone
		return true, s.forget(ctx, row)
	}
	at := byTable[0]
	seen, err := at.look(ctx, s.tx)
	if err != nil {
		return false, err
	}
	if len(seen[0]) == 0 {
		return true, s.forget(ctx, row)
	}
	if edit, edited := row.compare(seen[0]); edited {
		s.kept[row] = edit
		return false, nil
	}
	referrers, err := s.referrers(ctx, at.keyed, row)
	if err != nil {
		return false, err
	}
	if len(referrers) > 0 {
		s.keepReferenced(row, referrers...)
		return false, nil
	}
	return s.delete(ctx, at.keyed, row)
}

func (s *seeding) keepReferenced(row *remembered, by ...string) {
	edit := row.edit(nil)
	edit.Referenced = by
	s.kept[row] = edit
}

func (s *seeding) delete(ctx context.Context, at keyed, row *remembered) (bool, error) {
	gone := true
	err := s.tentatively(ctx, func() (bool, error) {
		err := s.exec(
			ctx,
			"DELETE FROM "+quoted(at.table.name)+" WHERE "+at.where("", 1),
			at.args(row.key)...)
		if err != nil && sqlitefile.ResultCode(err) == sqlite3.SQLITE_CONSTRAINT {
			gone = false
			s.keepReferenced(row, "a constraint")
			return false, nil
		}
		return true, err
	})
	if err != nil || !gone {
		return false, err
	}
	return true, s.forget(ctx, row)
}

func (s *seeding) forget(ctx context.Context, row *remembered) error {
	s.rows = slices.DeleteFunc(s.rows, func(other *remembered) bool { return other == row })
	_, err := s.tx.ExecContext(ctx, `DELETE FROM tenantry_seed_rows WHERE position = $1`, row.position)
	return err
}

// reference is a foreign key that points at a table.
type reference struct {
	child    string
	from, to []string
}

// referrers returns the tables with a row that refers to this one, whatever would become of it: with ON DELETE CASCADE the
// customer's rows would go, too.
func (s *seeding) referrers(ctx context.Context, at keyed, row *remembered) ([]string, error) {
	references, err := s.references(ctx, at.table)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, reference := range references {
		var count int
		err := s.tx.QueryRowContext(ctx, reference.query(at), at.args(row.key)...).Scan(&count)
		if err != nil {
			return nil, err
		}
		if count > 0 && !slices.Contains(out, reference.child) {
			out = append(out, reference.child)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (s *seeding) references(ctx context.Context, parent *table) (_ []*reference, err error) {
	rows, err := s.tx.QueryContext(ctx, `SELECT m.name, f.id, f.seq, f."from", f."to"
		FROM sqlite_master m, pragma_foreign_key_list(m.name) f
		WHERE m.type = 'table' AND lower(f."table") = lower($1) ORDER BY m.name, f.id, f.seq`, parent.name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []*reference
	for rows.Next() {
		var child, from string
		var to sql.NullString
		var id, n int
		if err := rows.Scan(&child, &id, &n, &from, &to); err != nil {
			return nil, err
		}
		if n == 0 {
			out = append(out, &reference{child: child})
		}
		target := quoted(to.String)
		if !to.Valid && n < len(parent.identity) { // the primary key is meant
			target = parent.identity[n]
		}
		last := out[len(out)-1]
		last.from, last.to = append(last.from, quoted(from)), append(last.to, target)
	}
	return out, rows.Err()
}

// query finds out whether there is a child of the row; the row itself is none.
func (r *reference) query(at keyed) string {
	joins := make([]string, 0, len(r.from))
	for i, from := range r.from {
		joins = append(joins, "c."+from+" = p."+r.to[i])
	}
	self := ""
	if strings.EqualFold(r.child, at.table.name) && len(at.table.identity) > 0 {
		same := make([]string, 0, len(at.table.identity))
		for _, part := range at.table.identity {
			same = append(same, "c."+part+" IS p."+part)
		}
		self = " AND NOT (" + strings.Join(same, " AND ") + ")"
	}
	return "SELECT count(*) FROM (SELECT 1 FROM " + quoted(
		at.table.name,
	) + " p JOIN " + quoted(
		r.child,
	) + " c ON " +
		strings.Join(
			joins,
			" AND ",
		) + " WHERE " + at.where(
		"p.",
		1,
	) + self + " LIMIT 1)"
}

// remember stores what the database made of the rows that are the seed's own now, those included that a trigger of the
// product changed on the way, and what is kept although the seed has dropped it.
func (s *seeding) remember(ctx context.Context, gone []*remembered) error {
	for _, row := range gone {
		why := encode(s.kept[row].Referenced)
		row.dropped = &why
	}
	var fresh []*remembered
	for _, row := range s.rows {
		if s.changing && s.fresh[row] {
			if row.written == nil {
				row.written = columnsOf(row.spec)
			}
			fresh = append(fresh, row)
		}
	}
	seen, err := states(ctx, s.tx, fresh)
	if err != nil {
		return err
	}
	for _, row := range fresh {
		label := showKey(row.keyColumns, row.key)
		switch len(seen[row]) {
		case 0:
			return fmt.Errorf("%s[%s] is not there after it was written", row.table, label)
		case 1:
			row.take(seen[row][0])
		default:
			return invalid(row.table, fmt.Errorf("the key %s is that of %d rows", label, len(seen[row])))
		}
	}
	return s.store(ctx)
}

func columnsOf(row tenant.Row) map[string]string {
	out := make(map[string]string, len(row))
	for name := range row {
		out[name] = ""
	}
	return out
}

// take remembers the values of the columns that the seed has now.
func (r *remembered) take(now found) {
	written := make(map[string]string, len(r.spec))
	for name := range r.spec {
		value := now.values[name]
		if was, ok := r.written[name]; ok && sameLiteral(was, value) {
			value = was
		}
		written[name] = value
	}
	r.written = written
}

// store writes those of the remembered rows that are not stored as they are.
func (s *seeding) store(ctx context.Context) error {
	last := int64(0)
	for _, row := range s.rows {
		last = max(last, row.position)
	}
	for _, row := range s.rows {
		if row.position > 0 && s.stored[row] == row.encoded() {
			continue
		}
		if row.position == 0 {
			last++
			row.position = last
		}
		err := s.exec(
			ctx,
			`INSERT OR REPLACE INTO tenantry_seed_rows
			(position, table_name, key_columns, key, spec, written, dropped) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			row.position,
			row.table,
			encode(row.keyColumns),
			encode(row.key),
			encode(row.spec),
			encode(row.written),
			row.dropped,
		)
		if err != nil {
			return err
		}
	}
	return nil
}
