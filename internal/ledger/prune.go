package ledger

// Prune drops the oldest finished tasks until the sheet is within its limit: those whose last entry is completed,
// failed or timeout; then those whose last entry is resumed by one that is not in the file. A chain of resumes is
// dropped whole. Entries that are spawned, interrupted or unknown stay, with their chains.
func (s *Sheet) Prune() {
	over := len(s.rows) - s.Limit()
	if over <= 0 {
		return
	}
	last := s.lasts()
	size := map[int]int{}
	for _, l := range last {
		size[l]++
	}
	gone := map[int]bool{}
	for _, may := range []func(Status) bool{Status.Finished, func(st Status) bool { return st == Resumed }} {
		for i, r := range s.rows {
			if over > 0 && last[i] == i && r.ok && may(r.Status) {
				gone[i] = true
				over -= size[i]
			}
		}
	}
	s.keep(func(i int) bool { return !gone[last[i]] })
}

// lasts returns, for each row, the row in which its chain of resumes ends.
func (s *Sheet) lasts() []int {
	next := s.nexts()
	last := make([]int, len(s.rows))
	for i := range s.rows {
		at, seen := i, map[int]bool{}
		for next[at] >= 0 && !seen[at] { // a file can hold a circle
			seen[at] = true
			at = next[at]
		}
		last[i] = at
	}
	return last
}

// nexts returns, for each row, the row that continues it, or -1.
func (s *Sheet) nexts() []int {
	byID := map[string][]int{}
	for i, r := range s.rows {
		if r.ok && r.ID != "" {
			byID[r.ID] = append(byID[r.ID], i)
		}
	}
	next := make([]int, len(s.rows))
	for i, r := range s.rows {
		next[i] = -1
		if !r.ok || r.Status != Resumed {
			continue
		}
		// The first after it. Other tools may sort their files; then one before it.
		for _, j := range byID[s.entry(i).ResumedBy] {
			if j == i || s.entry(j).Resumes != r.ID {
				continue
			}
			if next[i] < 0 || next[i] < i && j > i {
				next[i] = j
			}
		}
	}
	return next
}
