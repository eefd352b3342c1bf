package check

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// build builds a package at the old commit and as it is here, and returns what that is.
func (o *options) build(ctx context.Context, pkg, dir string) (base, here, what string, err error) {
	ref := o.ref
	if ref == "" {
		if ref, err = mergeBase(ctx); err != nil {
			return "", "", "", err
		}
	}
	commit, err := git(ctx, "rev-parse", "--short", "--verify", ref+"^{commit}")
	if err != nil {
		return "", "", "", fmt.Errorf("ref %q: must be a commit: %w", ref, err)
	}
	top, err := git(ctx, "rev-parse", "--show-prefix") // of this folder below the repository's
	if err != nil {
		return "", "", "", err
	}
	tree := filepath.Join(dir, "tree")
	defer func() {
		// It may be there, and locked, also where git has failed, by a hook or an interrupt.
		_, remove := git(context.WithoutCancel(ctx), "worktree", "remove", "--force", "--force", tree)
		if err == nil {
			err = remove
		}
	}()
	if _, err = git(ctx, "worktree", "add", "--detach", tree, commit); err != nil {
		return "", "", "", err
	}
	base, here = filepath.Join(dir, "base"), filepath.Join(dir, "new")
	if err := goBuild(ctx, filepath.Join(tree, top), pkg, base); err != nil {
		return "", "", "", fmt.Errorf("at %s: %w", commit, err)
	}
	if err := goBuild(ctx, "", pkg, here); err != nil {
		return "", "", "", err
	}
	return base, here, fmt.Sprintf("%s: base %s, new as it is here", pkg, commit), nil
}

// mergeBase is where this branch has left the main one: a gate that compares with the head of that
// would blame a change for those of others.
func mergeBase(ctx context.Context) (string, error) {
	for _, branch := range []string{"origin/main", "origin/master", "main", "master"} {
		if commit, err := git(ctx, "merge-base", "HEAD", branch); err == nil {
			return commit, nil
		}
	}
	return "", errors.New("ref: must be given: there is no branch main or master to have left; in CI fetch the whole history")
}

func git(ctx context.Context, args ...string) (string, error) { return output(ctx, "", "git", args...) }

// goBuild leaves paths and commits out, so that equal sources are equal programs.
func goBuild(ctx context.Context, dir, pkg, file string) error {
	_, err := output(ctx, dir, "go", "build", "-trimpath", "-buildvcs=false", "-o", file, pkg)
	return err
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
