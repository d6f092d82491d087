package database

// SameSchema reports whether two addresses lead to one schema of one PostgreSQL server, as far as
// they tell.
func SameSchema(a, b string) bool {
	if !IsPostgres(a) || !IsPostgres(b) {
		return false
	}
	one, err := ParsePostgres(a)
	if err != nil {
		return false
	}
	other, err := ParsePostgres(b)
	return err == nil && one.Place == other.Place && one.Schema == other.Schema
}
