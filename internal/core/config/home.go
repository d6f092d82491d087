package config

import (
	"path/filepath"

	"ramet/internal/base/fault"
)

// Home returns the folder of ramet's own data: the flag, else RAMET_HOME, else
// ramet in the XDG data folder. It need not exist yet.
func Home(env func(string) string, flag string) (string, error) {
	for _, dir := range []string{flag, env("RAMET_HOME")} {
		if dir != "" {
			return absolutePath(dir)
		}
	}
	return underXDG(env, "XDG_DATA_HOME", ".local/share", "RAMET_HOME")
}

// Path returns the user's configuration file. It need not exist.
func Path(env func(string) string) (string, error) {
	if path := env("RAMET_CONFIG"); path != "" {
		return absolutePath(path)
	}
	dir, err := underXDG(env, "XDG_CONFIG_HOME", ".config", "RAMET_CONFIG")
	return filepath.Join(dir, "config.toml"), err
}

// underXDG follows the XDG base directory specification, by which a relative
// path in the variable is to be ignored.
func underXDG(env func(string) string, variable, fallback, instead string) (string, error) {
	if base := env(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "ramet"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, fallback, "ramet"), nil
	}
	return "", fault.New(fault.InvalidConfig, "neither %s nor HOME names a folder", variable).
		WithHint("set %s", instead)
}

func absolutePath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "find %s: %w", path, err)
	}
	return abs, nil
}
