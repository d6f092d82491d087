package driver

import (
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
)

// PresetPrograms is the kind of files that the drivers of a project's configuration run.
const PresetPrograms trust.Kind = "driver programs"

// PresetSource finds, for trust, the files of a project that drivers run which it names itself.
func PresetSource() trust.Source {
	return trust.Source{Kind: PresetPrograms, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		data, err := g.Read(trust.ConfigurationFile, launch.MostProgram)
		if err != nil {
			return nil, nil // the source of configurations reports it
		}
		drivers, err := config.ParseDrivers(trust.ConfigurationFile, string(data), config.Project)
		if err != nil {
			return nil, nil // so does loading it
		}
		var out []trust.Thing
		for _, d := range drivers {
			files := launch.ProjectFiles(g.Dir(), append([]string{d.Command}, d.Args...))
			found, err := trust.Programs(PresetPrograms, "is run by the driver "+d.Name, files...).Find(g)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	}}
}
