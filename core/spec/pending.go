package spec

// pending lists the policies that are built and not offered yet, since nothing
// feeds them: a line is deleted once the filter can. Until then Decode refuses
// them by name.
func pending() []string {
	return []string{
		PolicyCacheAware,
	}
}
