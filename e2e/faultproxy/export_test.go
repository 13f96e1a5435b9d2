package faultproxy

// Draw gives the fault of the n-th call.
func Draw(seed, n uint64, weights map[Fault]int) Fault {
	return draw(seed, n, weigh(weights), 0, 1).fault
}
