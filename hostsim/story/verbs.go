package story

import (
	"maps"
	"slices"
)

// verb is one command.
type verb struct {
	play        func(r *run, a *arguments, input string) error
	needsFilter bool
}

// verbs are the commands, each documented in README.md.
func verbs() map[string]verb {
	return map[string]verb{
		"config":  {play: (*run).playConfig},
		"fleet":   {play: (*run).playFleet},
		"report":  {play: (*run).playReport},
		"drain":   {play: (*run).playDrain},
		"kill":    {play: (*run).playKill},
		"heal":    {play: (*run).playHeal},
		"drop":    {play: (*run).playDrop},
		"advance": {play: (*run).playAdvance},
		"request": {play: (*run).playRequest, needsFilter: true},
		"body":    {play: (*run).playBody, needsFilter: true},
		"respond": {play: (*run).playRespond, needsFilter: true},
		"release": {play: (*run).playRelease, needsFilter: true},
		"explain": {play: (*run).playExplain, needsFilter: true},
		"expect":  {play: (*run).playExpect, needsFilter: true},
		"load":    {play: (*run).playLoad, needsFilter: true},
		"metrics": {play: (*run).playMetrics, needsFilter: true},
		"log":     {play: (*run).playLog, needsFilter: true},

		"kv":  {play: (*run).playKV},
		"ids": {play: (*run).playIDs},

		"bindings": {play: (*run).playBindings},
		"hold":     {play: (*run).playHold},
		"answer":   {play: (*run).playAnswer, needsFilter: true},
	}
}

func verbNames() []string { return slices.Sorted(maps.Keys(verbs())) }
