# Installs the engine, builds examples/cpp against it as a stranger would, and runs the example on a small file.
#
# Expects BUILD (our build folder), SOURCE (the checkout), WORK (a scratch folder), PYTHON and GENERATOR.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --component cpp --prefix "${WORK}/prefix")
# What easydata.h reaches is installed, and no header of a test.
file(GLOB_RECURSE headers RELATIVE "${WORK}/prefix/include" "${WORK}/prefix/include/*.h")
if(NOT "easydata/loader/loader.h" IN_LIST headers OR NOT "easydata/verify/verify_output.h" IN_LIST headers OR headers MATCHES "test|stage_contract")
  message(FATAL_ERROR "installed headers: ${headers}")
endif()
# Without a Python it is said what to pass.
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}/examples/cpp" -B "${WORK}/guess" -G "${GENERATOR}"
                        "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
if(status EQUAL 0 OR NOT error MATCHES "pass -DPython_EXECUTABLE=")
  message(FATAL_ERROR "status ${status}: ${error}")
endif()
run("${CMAKE_COMMAND}" -S "${SOURCE}/examples/cpp" -B "${WORK}/build" -G "${GENERATOR}" "-DCMAKE_BUILD_TYPE=Release"
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DPython_EXECUTABLE=${PYTHON}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")

# A byte-level tokenizer with one merge: "he".
set(alphabet "")
set(vocab "\"h\": 0, \"e\": 1, \"l\": 2, \"o\": 3, \"he\": 4")
file(WRITE "${WORK}/tokenizer.json" "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [],
\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true},
\"post_processor\": null, \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true},
\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null,
\"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false, \"vocab\": {${vocab}}, \"merges\": [[\"h\", \"e\"]]}}")
file(WRITE "${WORK}/data.jsonl" "{\"text\": \"hello\"}\n{\"text\": \"hole\"}\n")
run("${WORK}/build/pretokenize" "${WORK}/tokenizer.json" "${WORK}/out" "${WORK}/data.jsonl")
if(NOT output MATCHES "2 documents, 8 tokens, 1 file")
  message(FATAL_ERROR "unexpected output: ${output}")
endif()

# A bad line is named, and nothing is left under a final name.
file(WRITE "${WORK}/bad.jsonl" "{\"text\": \"hello\"}\n{\"text\": \n")
execute_process(COMMAND "${WORK}/build/pretokenize" "${WORK}/tokenizer.json" "${WORK}/bad" "${WORK}/bad.jsonl"
                RESULT_VARIABLE status ERROR_VARIABLE error)
if(NOT status EQUAL 1 OR NOT error MATCHES "bad.jsonl row 1.*line 2" OR EXISTS "${WORK}/bad/shard-00000.parquet")
  message(FATAL_ERROR "status ${status}: ${error}")
endif()

# Six steps at once are three and three more, from a saved state.
foreach(name code prose)
  set(lines "")
  foreach(row RANGE 40)
    string(REPEAT "hel" "${row}" text)
    string(APPEND lines "{\"text\": \"${text}o\"}\n")
  endforeach()
  file(WRITE "${WORK}/${name}.jsonl" "${lines}")
endforeach()
set(train "${WORK}/build/train_stream" "${WORK}/tokenizer.json")
set(data "${WORK}/code.jsonl" "${WORK}/prose.jsonl")
run(${train} "${WORK}/whole.json" 6 ${data})
set(whole "${output}")
run(${train} "${WORK}/state.json" 3 ${data})
set(parts "${output}")
run(${train} "${WORK}/state.json" 3 ${data})
string(APPEND parts "${output}")
if(NOT parts STREQUAL whole OR NOT whole MATCHES "4 x 16 tokens, sum [0-9]+\n.*4 x 16 tokens")
  message(FATAL_ERROR "at once:\n${whole}in parts:\n${parts}")
endif()
