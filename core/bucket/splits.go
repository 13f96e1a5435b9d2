package bucket

import "github.com/pointsman/pointsman/core"

// Bounded reports whether the length of a prompt matters to any bucket.
func (r *Resolver) Bounded() bool {
	for _, b := range r.buckets {
		if b.Bounded() {
			return true
		}
	}
	return false
}

// Splits reports whether some bucket takes a part only of the requests whose
// input is from low to high and whose answer has so many tokens: whether it
// matters where between them the input is.
func (r *Resolver) Splits(low, high core.Tokens, output core.Count) bool {
	for _, b := range r.buckets {
		most, any := b.mostInput(output)
		if !any || most < b.min {
			continue // it takes none of them
		}
		if low < b.min && b.min <= high || low <= most && most < high {
			return true
		}
	}
	return false
}

// mostInput is the longest input that the bucket takes with such an answer, if it
// takes any.
func (b *Bucket) mostInput(output core.Count) (most core.Tokens, any bool) {
	if !output.Known {
		return b.capacity(), true
	}
	if output.N > b.context {
		return 0, false
	}
	return min(b.max, b.context-output.N), true
}
