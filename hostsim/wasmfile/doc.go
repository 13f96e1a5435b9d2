// Package wasmfile reads and edits the container of a WebAssembly module: its sections, imports, exports and custom
// sections. It never looks at code, so it is cheap on any module and safe on garbage: every length is checked
// against the bytes that are really there.
//
// It answers what a loader and a build want to know about a proxy-wasm filter: which host functions it needs, whether
// an Envoy release offers them ([CheckImports]), which ABI version it speaks ([File.ABIVersion]). Two edits serve the
// build of the filter: [DropExports] and [AddCustom].
//
// All functions are pure: inputs are never modified, and results of [Parse] refer to the input's bytes.
package wasmfile
