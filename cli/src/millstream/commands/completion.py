"""`millstream completion`: a script for a shell, made from the tree of commands; it knows commands, options and choices.

source <(millstream completion bash)
"""

from argparse import Namespace

from millstream.commands.tree import Command, command_tree

_BASH = """\
_millstream() {{
    local path="" word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${{COMP_WORDS[i]}}"
        case "$path $word" in
            {paths}) path="$path $word" ;;
        esac
    done
    local words=""
    case "$path" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o filenames -F _millstream millstream
"""
_ZSH = """\
#compdef millstream
_millstream() {{
    local spot="" word
    for word in ${{words[2,CURRENT-1]}}; do
        case "$spot $word" in
            {paths}) spot="$spot $word" ;;
        esac
    done
    local -a candidates
    case "$spot" in
{cases}
    esac
    compadd -- $candidates || _files
}}
compdef _millstream millstream
"""
_FISH = """\
function __millstream_at
    set -l spot ""
    for word in (commandline -opc)[2..]
        switch "$spot $word"
            case {paths}
                set spot "$spot $word"
        end
    end
    test "$spot" = "$argv[1]"
end
{cases}
"""


def print_completion(options: Namespace) -> int:
    from millstream.main import command_parser

    print(completion(options.shell, command_tree(command_parser())), end="")
    return 0


def completion(shell: str, root: Command) -> str:
    commands = list(root.walk())
    spots = {"".join(f" {word}" for word in each.path): _words(each) for each in commands}
    quoted = [f'"{spot}"' for spot in spots if spot]
    match shell:
        case "bash":
            cases = [f'        "{spot}") words="{" ".join(words)}" ;;' for spot, words in spots.items()]
            return _BASH.format(paths=" | ".join(quoted), cases="\n".join(cases))
        case "zsh":
            cases = [f'        "{spot}") candidates=({" ".join(words)}) ;;' for spot, words in spots.items()]
            return _ZSH.format(paths=" | ".join(quoted), cases="\n".join(cases))
        case _:
            lines = [
                f"complete -c millstream -n '__millstream_at \"{spot}\"' -a '{' '.join(words)}'"
                for spot, words in spots.items()
            ]
            return _FISH.format(paths=" ".join(quoted), cases="\n".join(lines))


def _words(command: Command) -> list[str]:
    """What may come next: commands, options, and what an argument can be."""
    words = [each.path[-1] for each in command.actions]
    for argument in command.arguments:
        words += [name for name in argument.names if argument.is_option]
        words += argument.choices if not argument.is_option else ()
    return words
