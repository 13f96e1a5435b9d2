package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sumsFile has the SHA-256 of every other file, as sha256sum -c reads it.
const sumsFile = "SHA256SUMS"

func (r *release) sums() error {
	var lines strings.Builder
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(sumsFile), []byte(lines.String()), 0o644)
}
