package main

import "slices"

// against lists the uses that go upwards in an order that begins at the ground.
func (h house) against(order []int) []use {
	floor := make([]int, len(h.files))
	for i, f := range order {
		floor[f] = i
	}
	var out []use
	for _, u := range h.uses {
		if floor[u.by] < floor[u.of] {
			out = append(out, u)
		}
	}
	return out
}

// arrange finds an order of the files, from the ground up, with few uses against it:
// first by who is used more than it uses, then each file is moved to where it does
// least harm, until no move helps. The best order is a hard problem; this one is good,
// and the same each time.
func arrange(h house) []int {
	n := len(h.files)
	weight := make([][]int, n) // weight[a][b]: uses of b by a
	for i := range weight {
		weight[i] = make([]int, n)
	}
	for _, u := range h.uses {
		weight[u.by][u.of]++
	}
	order := peel(weight)
	for improved := true; improved; {
		improved = false
		for at := range order {
			if to := best(order, at, weight); to != at {
				f := order[at]
				order = slices.Insert(slices.Delete(order, at, at+1), to, f)
				improved = true
			}
		}
	}
	return order
}

// peel takes files that use nobody from the ground, those that nobody uses from the
// roof, and in between the one that is used most beyond what it uses.
func peel(weight [][]int) []int {
	left := map[int]bool{}
	for f := range weight {
		left[f] = true
	}
	var ground, roof []int
	for len(left) > 0 {
		pick, score := -1, 0
		for f := range weight {
			if !left[f] {
				continue
			}
			uses, used := 0, 0
			for o := range left {
				uses += weight[f][o]
				used += weight[o][f]
			}
			if uses > 0 && used == 0 {
				roof = append(roof, f)
				delete(left, f)
				pick = -1
				break
			}
			if pick < 0 || used-uses > score || uses == 0 && used-uses >= score {
				pick, score = f, used-uses
			}
		}
		if pick >= 0 {
			ground = append(ground, pick)
			delete(left, pick)
		}
	}
	slices.Reverse(roof)
	return append(ground, roof...)
}

// best is the place in an order where a file does least harm; where it stands, if no
// other is better.
func best(order []int, at int, weight [][]int) int {
	f, to, gain, most := order[at], at, 0, 0
	for i := at - 1; i >= 0; i-- { // down: what it passes stands above it then
		gain += weight[order[i]][f] - weight[f][order[i]]
		if gain > most {
			most, to = gain, i
		}
	}
	gain = 0
	for i := at + 1; i < len(order); i++ { // up
		gain += weight[f][order[i]] - weight[order[i]][f]
		if gain > most {
			most, to = gain, i
		}
	}
	return to
}
