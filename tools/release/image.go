package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// descriptor points to a blob of an image layout.
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
	Notes     map[string]string `json:"annotations,omitempty"`
}

// layout is an OCI image layout in the making: blobs by digest.
type layout struct{ files Tree }

func (l *layout) add(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.files = append(l.files, File{Path: "blobs/sha256/" + sum, Mode: 0o644, Data: data})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

func (l *layout) addJSON(mediaType string, v any) (descriptor, error) {
	text, err := json.Marshal(v)
	return l.add(mediaType, text), err
}

// images makes OCI image layouts: ramet alone, and with git. Nobody's daemon is asked.
func (r *Release) images(made, platform string, tree Tree) error {
	program := Tree{{Path: "usr/bin/ramet", Mode: 0o755, Data: tree.find("bin/ramet")}}
	for _, f := range tree {
		if strings.HasPrefix(f.Path, docs) {
			program = append(program, File{Path: "usr/" + f.Path, Mode: f.Mode, Data: f.Data})
		}
	}
	for name, mode := range map[string]fs.FileMode{"data": 0o700, "work": 0o755, "tmp": 0o777 | fs.ModeSticky} {
		program = append(program, File{Path: name, Mode: mode, Owned: true})
	}
	program.sort()
	if err := r.image(made, platform, "", program); err != nil {
		return err
	}
	if r.Debian == "" {
		return nil
	}
	packages, err := r.packagesOf(platform)
	if err != nil {
		return fmt.Errorf("the image with git: %w", err)
	}
	return r.image(made, platform, "-git", system(packages), program)
}

const vendor = "application/vnd.oci.image."

// image makes one layout of its layers, the lowest first.
func (r *Release) image(made, platform, kind string, layers ...Tree) error {
	goos, arch, _ := strings.Cut(platform, "/")
	var l layout
	var at []descriptor
	var sums []string
	for _, layer := range layers {
		d, sum, err := l.layer(layer, r.Stamp.Date)
		if err != nil {
			return err
		}
		at, sums = append(at, d), append(sums, sum)
	}
	config, err := l.addJSON(vendor+"config.v1+json", map[string]any{
		"created": r.Stamp.Date.Format(time.RFC3339), "architecture": arch, "os": goos,
		"config": map[string]any{"Entrypoint": []string{"/usr/bin/ramet"}, "Env": []string{"PATH=/usr/bin:/bin", "HOME=/data", "RAMET_HOME=/data"},
			"User": fmt.Sprintf("%d:%[1]d", nobody), "WorkingDir": "/work", "Labels": map[string]string{"org.opencontainers.image.version": r.Version,
				"org.opencontainers.image.revision": r.Stamp.Commit, "org.opencontainers.image.licenses": "MIT"}},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": sums},
		"history": slices.Repeat([]map[string]any{{"created": r.Stamp.Date.Format(time.RFC3339), "created_by": "ramet/tools/release"}}, len(layers)),
	})
	if err != nil {
		return err
	}
	manifest, err := l.addJSON(vendor+"manifest.v1+json", map[string]any{"schemaVersion": 2,
		"mediaType": vendor + "manifest.v1+json", "config": config, "layers": at})
	if err != nil {
		return err
	}
	manifest.Platform = map[string]string{"os": goos, "architecture": arch}
	manifest.Notes = map[string]string{"org.opencontainers.image.ref.name": r.Version + kind}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": vendor + "index.v1+json", "manifests": []descriptor{manifest}})
	if err != nil {
		return err
	}
	l.files = append(l.files, File{Path: "index.json", Mode: 0o644, Data: index},
		File{Path: "oci-layout", Mode: 0o644, Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	l.files.sort()
	return create(filepath.Join(made, r.name(platform)+kind+".oci.tar"), func(w io.Writer) error { return l.files.tar(w, "", r.Stamp.Date) })
}

// layer adds one, and tells the digest of what it is unpacked.
func (l *layout) layer(tree Tree, date time.Time) (descriptor, string, error) {
	var plain, packed bytes.Buffer
	if err := tree.tar(&plain, "", date); err != nil {
		return descriptor{}, "", err
	}
	err := zipped(&packed, func(w io.Writer) error { _, err := w.Write(plain.Bytes()); return err })
	return l.add(vendor+"layer.v1.tar+gzip", packed.Bytes()), fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes())), err
}
