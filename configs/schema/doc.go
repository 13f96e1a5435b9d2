// Package schema describes the two configuration formats, the filter's and the state
// service's, from the types that read them: JSON Schemas for editors, and the tables
// of configs/README.md. Texts are the doc comments of the fields, defaults are what
// the readers fill in, so neither can differ from the code (field report J01).
//
//	go test ./configs/schema -update
//
// writes filter.schema.json, statesvc.schema.json and configs/README.md anew.
package schema
