package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// manifests are objects that are applied together.
type manifests struct {
	objects []manifest
	// instead says what they are an alternative to, empty for none.
	instead string
}

// identity is what a control plane knows an object by: of two with one identity the later
// takes the place of the earlier.
func (o *manifest) identity() string {
	group, _, _ := strings.Cut(o.at.Get("apiVersion").Text(), "/")
	return fmt.Sprintf("%s %s %s/%s", group, o.kind, o.namespaceOrDefault(), o.name)
}

// alternatives tells files apart that cannot be applied together, since they have objects
// of one identity: each is looked at with the files that go with all of them.
func alternatives(objects []manifest) []manifests {
	rivals := rivalFiles(objects)
	if len(rivals) == 0 {
		return []manifests{{objects: objects}}
	}
	var sets []manifests
	for _, file := range rivals {
		others := slices.DeleteFunc(slices.Clone(rivals), func(f string) bool { return f == file })
		set := manifests{instead: strings.Join(others, ", ")}
		for _, own := range []bool{true, false} {
			for _, o := range objects {
				if own && o.at.File == file || !own && !slices.Contains(rivals, o.at.File) {
					set.objects = append(set.objects, o)
				}
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// rivalFiles are the files that share an object's identity with another one, in order.
func rivalFiles(objects []manifest) (rivals []string) {
	files := map[string][]string{}
	for i := range objects {
		o := &objects[i]
		if o.name != "" && !slices.Contains(files[o.identity()], o.at.File) {
			files[o.identity()] = append(files[o.identity()], o.at.File)
		}
	}
	for i := range objects {
		o := &objects[i]
		if len(files[o.identity()]) > 1 && !slices.Contains(rivals, o.at.File) {
			rivals = append(rivals, o.at.File)
		}
	}
	return rivals
}
