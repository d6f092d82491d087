# What bash-completion would bring, where it is not installed: the words up to the cursor, with those
# put together again that bash takes apart at = and :, and the part before a colon taken off.
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    _get_comp_words_by_ref() {
        local line=${COMP_LINE:0:COMP_POINT}
        read -r -a words <<<"$line"
        if [[ -z $line || $line == *[[:space:]] ]]; then words+=(""); fi
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=""
        if ((cword > 0)); then prev=${words[cword - 1]}; fi
    }
fi
if ! declare -F __ltrim_colon_completions >/dev/null 2>&1; then
    __ltrim_colon_completions() {
        if [[ $1 != *:* || $COMP_WORDBREAKS != *:* ]]; then return; fi
        local i before=${1%"${1##*:}"}
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
    }
fi

