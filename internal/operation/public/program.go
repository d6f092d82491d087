package public

// Program lists the commands and choices that a driving program offers its user, by the program's own words, as
// it told when it ran last.
type Program struct {
	Driver   string   `json:"driver"`
	Mode     *string  `json:"mode"`  // its own, in which the agent's turns run; null: as the program likes
	Boxed    *bool    `json:"boxed"` // in that mode it runs confined; null: nobody here knows it
	Modes    []Choice `json:"modes"`
	Models   []Choice `json:"models"` // MODEL in driver/NAME/MODEL
	Efforts  []Choice `json:"efforts"`
	Commands []Choice `json:"commands"` // without the slash
}

// Choice is one of several that can be chosen.
type Choice struct {
	Word  string  `json:"word"`
	Title string  `json:"title"`
	About string  `json:"about"`
	Hint  *string `json:"hint"` // what a command wants to be told; null: nothing
}
